"""The text of the generated files: one letter in each of eleven languages and nine scripts."""

from __future__ import annotations

from dataclasses import dataclass

Table = tuple[tuple[str, ...], ...]
"""Rows of cells; the first row is the header."""


@dataclass(frozen=True)
class Letter:
    """`values` are numbers with their unit that stand in the paragraphs or in the table."""

    language: str
    heading: str
    header: str
    footer: str
    paragraphs: tuple[str, ...]
    items: tuple[str, ...]
    note: str
    table: Table
    values: tuple[str, ...]


LETTERS = (
    Letter(
        "en",
        "Maintenance of the harbour crane",
        "Northwind Cranes Limited, customer KD-77812",
        "Registered in Cork, account XX00 1234 5678",
        (
            "The gearbox oil is changed after 1,250 hours, or when it reaches 85 °C.",
            "Pressure in the brake line stays at ≤ 5 bar; the jib carries 12.5 t at 40 m.",
            "Emissions of CO₂ fell to 3.4 kg per hour, and the deck has 250 m² of coating.",
        ),
        ("Loctite® seals the flange", "pump → tank → filter"),
        "Measured by Søren Müller and François Núñez in spring.",
        (
            ("Part", "Order number", "Price"),
            ("Wire rope", "HL-200", "1,250.00 €"),
            ("Brake disc", "HL-210", "480.50 €"),
            ("Hook block", "HL-305", "3,499.99 €"),
        ),
        ("1,250 hours", "85 °C", "≤ 5 bar", "12.5 t", "3.4 kg", "250 m²", "1,250.00 €", "480.50 €"),
    ),
    Letter(
        "de",
        "Prüfbericht der Feuerlöschanlage",
        "Gerüstbau Weiß GmbH, Kundennummer 40-7718",
        "Geschäftsführerin: Jördis Öztürk",
        (
            "Die Schläuche wurden bei 16 bar und 30°C geprüft; der Prüfdruck fiel um 0,2 bar.",
            "Der Löschwasserbehälter fasst 12.500 l und steht auf 45 m² Grundfläche.",
            "Die Straße zur Anlage ist während der Übung gesperrt.",
        ),
        ("Ventile schmieren", "Dichtung ersetzen"),
        "Die nächste Überprüfung erfolgt im März.",
        (
            ("Bauteil", "Menge", "Preis"),
            ("Strahlrohr", "12 Stück", "89,90 €"),
            ("Kupplung", "24 Stück", "14,50 €"),
            ("Rückschlagventil", "3 Stück", "1.210,00 €"),
        ),
        ("16 bar", "30°C", "0,2 bar", "12.500 l", "45 m²", "89,90 €", "1.210,00 €"),
    ),
    Letter(
        "fr",
        "Contrôle de l’élévateur",
        "Société Lefèvre, dossier 88-412",
        "Siège à Besançon",
        (
            "La tension mesurée était de 230 V et la température n’a pas dépassé 60 °C.",
            "Le coût s’élève à 3 400 € hors taxes, soit 15 % de moins qu’en août.",
        ),
        ("vérifier les câbles", "remplacer l’amortisseur"),
        "Relevé effectué par Agnès Châtelain.",
        (
            ("Pièce", "Référence", "Délai"),
            ("Poulie", "PX-17", "5 jours"),
            ("Contrepoids", "PX-19", "21 jours"),
        ),
        ("230 V", "60 °C", "3 400 €", "15 %", "21 jours"),
    ),
    Letter(
        "el",
        "Συντήρηση του ανελκυστήρα",
        "Εταιρεία Μηχανημάτων Πειραιά, πελάτης 5521",
        "Έδρα στη Θεσσαλονίκη",
        (
            "Η θερμοκρασία του λαδιού δεν ξεπερνά τους 75 °C και η πίεση μένει στα 6 bar.",
            "Ο κινητήρας καταναλώνει 18,5 kW και ζυγίζει 320 kg.",
        ),
        ("έλεγχος των φρένων", "αντικατάσταση του φίλτρου"),
        "Η μέτρηση έγινε την άνοιξη.",
        (
            ("Εξάρτημα", "Κωδικός", "Τιμή"),
            ("Συρματόσχοινο", "ΣΧ-14", "240,00 €"),
            ("Τροχαλία", "ΤΡ-31", "95,50 €"),
        ),
        ("75 °C", "6 bar", "18,5 kW", "320 kg", "95,50 €"),
    ),
    Letter(
        "ru",
        "Обслуживание портового крана",
        "Завод подъёмных машин, договор 3317",
        "Город Калининград",
        (
            "Масло в редукторе меняют через 1 250 часов или при нагреве до 85 °C.",
            "Давление в тормозной линии равно 5 бар, а груз весит 12,5 т.",
        ),
        ("проверить тормоза", "заменить ёмкость"),
        "Измерено весной на причале.",
        (
            ("Деталь", "Номер", "Цена"),
            ("Канат", "КН-200", "18 400 ₽"),
            ("Крюк", "КР-305", "7 250 ₽"),
        ),
        ("1 250 часов", "85 °C", "5 бар", "12,5 т", "7 250 ₽"),
    ),
    Letter(
        "ar",
        "دليل صيانة الرافعة",
        "شركة الموانئ الأولى، العميل 4471",
        "المقر الرئيسي في الإسكندرية",
        (
            "يجب تغيير الزيت بعد 1250 ساعة من التشغيل المتواصل لضمان السلامة.",
            "الضغط في خط الفرامل لا يتجاوز 5 بار، والحمولة القصوى 12 طن.",
        ),
        ("فحص الأسلاك", "استبدال الألواح"),
        "تم القياس خلال الربيع.",
        (
            ("القطعة", "الكمية", "السعر"),
            ("حبل الأسلاك", "3", "240"),
            ("بكرة الألمنيوم", "7", "95"),
        ),
        ("1250 ساعة", "5 بار", "12 طن"),
    ),
    Letter(
        "he",
        "תחזוקת מנוף הנמל",
        "חברת המנופים הצפונית, לקוח 6612",
        "המשרד הראשי בחיפה",
        (
            "יש להחליף את השמן אחרי 1250 שעות או כאשר הטמפרטורה עולה.",
            "הלחץ בקו הבלמים נשאר 5 בר והמשקל המרבי הוא 12 טון.",
        ),
        ("בדיקת הכבלים", "החלפת המסנן"),
        "המדידה נעשתה באביב.",
        (
            ("חלק", "כמות", "מחיר"),
            ("כבל פלדה", "3", "240"),
            ("גלגלת", "7", "95"),
        ),
        ("1250 שעות", "5 בר", "12 טון"),
    ),
    Letter(
        "th",
        "การบำรุงรักษาปั้นจั่นท่าเรือ",
        "บริษัทเครื่องจักรเหนือ ลูกค้า 8820",
        "สำนักงานใหญ่กรุงเทพ",
        (
            "เปลี่ยนน้ำมันเกียร์หลังใช้งาน 1,250 ชั่วโมง หรือเมื่ออุณหภูมิถึง 85 °C",
            "ความดันในท่อเบรกไม่เกิน 5 bar และน้ำหนักสูงสุด 12 ตัน",
        ),
        ("ตรวจสอบเบรก", "เปลี่ยนไส้กรอง"),
        "วัดเมื่อฤดูร้อน",
        (
            ("ชิ้นส่วน", "รหัส", "ราคา"),
            ("ลวดสลิง", "HL-200", "4,500 ฿"),
            ("ตะขอ", "HL-305", "1,990 ฿"),
        ),
        ("1,250 ชั่วโมง", "85 °C", "5 bar", "12 ตัน", "4,500 ฿"),
    ),
    Letter(
        "zh",
        "港口起重机维护手册",
        "北方起重机有限公司，客户编号 7781",
        "注册地：青岛市",
        (
            "齿轮箱润滑油在运行 1250 小时后更换，或在温度达到 85°C 时更换。",
            "制动管路压力保持在 5 bar，最大载荷为 12.5 吨。",
        ),
        ("检查钢丝绳", "更换过滤器"),
        "测量于春季完成。",
        (
            ("零件", "编号", "价格"),
            ("钢丝绳", "HL-200", "¥1,250"),
            ("吊钩", "HL-305", "¥3,499"),
        ),
        ("1250 小时", "85°C", "5 bar", "12.5 吨", "¥3,499"),
    ),
    Letter(
        "ja",
        "港湾クレーン保全マニュアル",
        "北日本クレーン株式会社　顧客番号 7781",
        "本社は横浜市",
        (
            "減速機の潤滑油は 1250 時間ごと、または温度が 85℃ に達したときに交換する。",
            "ブレーキ配管の圧力は 5 bar を保ち、最大荷重は 12.5 トンとする。",
        ),
        ("ワイヤロープの点検", "フィルターの交換"),
        "測定は春に保全課が行った。",
        (
            ("部品", "番号", "価格"),
            ("ワイヤロープ", "HL-200", "¥12,500"),
            ("フックブロック", "HL-305", "¥34,990"),
        ),
        ("1250 時間", "85℃", "5 bar", "12.5 トン", "¥34,990"),
    ),
    Letter(
        "ko",
        "항만 크레인 정비 설명서",
        "북부 크레인 주식회사, 고객 번호 7781",
        "본사는 부산에 있다",
        (
            "감속기 오일은 1250 시간 후에 또는 온도가 85 °C 에 이르면 교환한다.",
            "브레이크 배관의 압력은 5 bar 로 유지하고 최대 하중은 12.5 톤 이다.",
        ),
        ("와이어로프 점검", "필터 교환"),
        "측정은 봄에 실시하였다.",
        (
            ("부품", "번호", "가격"),
            ("와이어로프", "HL-200", "₩125,000"),
            ("후크", "HL-305", "₩34,900"),
        ),
        ("1250 시간", "85 °C", "5 bar", "12.5 톤", "₩34,900"),
    ),
)
